import { openedSqliteStore } from './sqlite-opened.ts';
import { CONTRACT_HALVES, storeContract } from './store-contract.ts';

storeContract('SQLite', openedSqliteStore, CONTRACT_HALVES[1]);
