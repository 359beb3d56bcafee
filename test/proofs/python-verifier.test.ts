import { askPython } from './python.ts';
import { verifierBattery } from './verifier-battery.ts';

verifierBattery(askPython);
