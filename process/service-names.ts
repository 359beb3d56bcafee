/** Every service, from the edge inwards. */
export const SERVICE_NAMES = [
  'gateway',
  'cluster',
  'verification',
  'collections',
  'keys',
  'metering',
  'anchoring',
  'shards',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];
