import { readYaml } from './manifest.ts';

interface Service {
  image: string;
  user?: string;
  command: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  read_only?: boolean;
  cap_drop?: string[];
  stop_grace_period?: string;
  deploy?: { replicas: number };
}

/** The services of compose.yaml. */
export const composeServices = readYaml<{ services: Record<string, Service> }>('compose.yaml').services;

/** The services that run Provec. */
export const composeNodes = Object.values(composeServices).filter(({ image }) => image.startsWith('provec'));

/** Arguments as a container receives them: Compose replaces `$$` with `$`. */
export const argumentsOf = (written: readonly string[]): string[] => written.map((text) => text.replaceAll('$$', '$'));
