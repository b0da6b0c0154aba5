/** Commands killed at one of their file operations; all cases: `npm run torture -- --only kill`. */
import { testSample } from './sample.ts';

testSample(
  'kill',
  ['ST-2', 'ST-3', 'LP-8'],
  'after a kill at a file operation, the next command finds everything',
);
