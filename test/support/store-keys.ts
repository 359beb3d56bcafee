import { type Keyring, type StoreKeys, storeKeys, transportKeys } from '../../lib/secret/keyring.ts';

/** Secret of every installation that tests inspect. */
export const TEST_SECRET = 'a-secret-that-every-test-may-know-of';

/** The secret that an installation is changed to. */
export const NEXT_TEST_SECRET = 'another-secret-that-every-test-may-know-of';

export const TEST_KEYS: StoreKeys = storeKeys([TEST_SECRET]);

/** Keys of an observer who reads a store while its secret is changed. */
export const ONLOOKER_KEYS: StoreKeys = storeKeys([TEST_SECRET, NEXT_TEST_SECRET]);

export const TEST_TRANSPORT_KEYS: Keyring = transportKeys([TEST_SECRET]);

/** Keys of a forger who has the program and the store but not the secret. */
export const FORGED_KEYS: StoreKeys = storeKeys(['a-secret-that-somebody-else-made-up']);

export const FORGED_TRANSPORT_KEYS: Keyring = transportKeys(['a-secret-that-somebody-else-made-up']);
