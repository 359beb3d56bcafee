/**
 * The HTTP request that a call belongs to. The gateway sets it as `meta.origin` for calls that
 * manage something; a call without one comes from an operator's console.
 */
export interface Origin {
  /** Id of the API key; null for the operator's token. */
  keyId: string | null;
  /** IP address of the client; of its proxy, unless the operator trusts that. */
  address: string;
  requestId: string;
}
