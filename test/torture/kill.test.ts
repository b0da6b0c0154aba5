/** Commands that are killed at one of their file operations; all of them: `npm run torture -- --only kill`. */
import { testSample } from './sample.ts';

testSample(
  'kill',
  ['ST-2', 'ST-3', 'LP-8'],
  'killed at a file operation, the next command finds everything',
);
