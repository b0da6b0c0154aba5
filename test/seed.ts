/** Generated inputs are the same in every run, so that failures are repeatable. `TACHO_TEST_SEED=N` tries others. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.TACHO_TEST_SEED ?? 20_261_115) });
