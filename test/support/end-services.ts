export { endLending as default } from './lent-services.ts';
