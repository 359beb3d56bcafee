import { type Keyring, type StoreKeys, storeKeys, transportKeys } from '../../lib/secret/keyring.ts';

/** The secret of every installation that tests look into. */
export const TEST_SECRET = 'a-secret-that-every-test-may-know-of';

export const TEST_KEYS: StoreKeys = storeKeys([TEST_SECRET]);

export const TEST_TRANSPORT_KEYS: Keyring = transportKeys([TEST_SECRET]);

/** Of somebody who has the program and the store, and not the secret. */
export const FORGED_KEYS: StoreKeys = storeKeys(['a-secret-that-somebody-else-made-up']);

export const FORGED_TRANSPORT_KEYS: Keyring = transportKeys(['a-secret-that-somebody-else-made-up']);
