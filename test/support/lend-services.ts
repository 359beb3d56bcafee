export { startLending as default } from './lent-services.ts';
