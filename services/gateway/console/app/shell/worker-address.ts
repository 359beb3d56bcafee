interface WorkerPolicy {
  createScriptURL(url: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: WorkerPolicy): WorkerPolicy;
}

/** Only browsers with Trusted Types have it, and only those ask for it. */
const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };
const policy = trustedTypes?.createPolicy('provec-worker', { createScriptURL: (url) => url });

/** Returns an address as the page's policy wants it for a worker. */
export const workerAddress = (url: string): string => policy?.createScriptURL(url) ?? url;
