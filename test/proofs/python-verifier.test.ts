import { describe } from '@jest/globals';
import { nodeBattery } from './node-battery.ts';
import { askPython } from './python.ts';
import { verifierBattery } from './verifier-battery.ts';

verifierBattery(askPython);
describe('a node of the ledger', () => nodeBattery(askPython));
