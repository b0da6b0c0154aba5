/** Generated inputs are the same in every run: what fails once fails always. `TACHO_TEST_SEED=N` tries others. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.TACHO_TEST_SEED ?? 20_261_115) });
