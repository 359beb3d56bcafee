/**
 * jest's environment for Node, in a context without interceptors.
 *
 * jest creates its context around a proxy, so every use of `Math` or `Float32Array` in a loop goes
 * through that proxy: a third of the processor time of tests that compute. Plain V8 globals are
 * equally isolated from jest's, and access to them is as fast as in any program.
 */
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { watchParent } from '../../process/parent-watch.ts';

// Runs in each jest process: one with a hanging test would outlive an interrupted run.
watchParent(() => process.exit(1), `${process.ppid}`);

/**
 * Maximum number of frames in a stack; jest's own is 100. Every call of `expect` captures a stack,
 * which takes two and a half times as long with 100 frames.
 */
const STACK_FRAMES_MAX = 20;

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
    this.global.Error.stackTraceLimit = STACK_FRAMES_MAX;
  }
}
