/**
 * jest's environment for Node, in a context without interceptors.
 *
 * jest makes its context around a proxy, so that every `Math` or `Float32Array` in a loop asks that
 * proxy: a third of the processor time of tests that compute. V8's own globals are as apart from
 * jest's, and are found as in any program.
 */
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { watchParent } from '../../lib/process/parent-watch.ts';

// In each of jest's processes: one whose test hangs would outlive a run that was interrupted.
watchParent(() => process.exit(1), `${process.ppid}`);

export default class BareContext extends TestEnvironment {
  constructor(...settings: ConstructorParameters<typeof TestEnvironment>) {
    const { createContext } = vm;
    let made = 0;
    vm.createContext = () => {
      made += 1;
      return createContext(vm.constants.DONT_CONTEXTIFY);
    };
    try {
      super(...settings);
    } finally {
      vm.createContext = createContext;
    }
    if (made !== 1) throw new Error('jest-environment-node no longer makes its context by vm.createContext.');
  }
}
