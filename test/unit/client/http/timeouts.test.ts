import { expect, test } from '@jest/globals';
import { defaultTimeoutMs } from '../../../../client/http/timeouts.ts';
import type { OperationId } from '../../../../client/http/transport.ts';
import { OPERATOR_DESCRIPTIONS } from '../../../../services/gateway/openapi/operator.ts';
import { OPERATOR_ROUTES } from '../../../../services/gateway/operator-routes.ts';

test('the client waits longer than the gateway for a command of the operator', () => {
  const slow = OPERATOR_ROUTES.filter(({ timeoutMs }) => timeoutMs !== null);
  expect(slow.map(({ action }) => action).sort()).toEqual(['cluster.drain', 'cluster.move', 'cluster.resume']);
  for (const { action, timeoutMs } of slow) {
    const operation = OPERATOR_DESCRIPTIONS[action]![0] as OperationId;
    expect({ operation, isLonger: defaultTimeoutMs(operation) > timeoutMs! }).toEqual({ operation, isLonger: true });
  }
});
