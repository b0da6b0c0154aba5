/** Commands with a failing file operation; all cases: `npm run torture -- --only error`. */
import { testSample } from './sample.ts';

testSample(
  'error',
  ['ST-9', 'RE-12', 'RE-13'],
  'a failing file operation is reported; nothing is lost or damaged',
);
