/** Commands of which a file operation fails; all of them: `npm run torture -- --only error`. */
import { testSample } from './sample.ts';

testSample(
  'error',
  ['ST-9', 'RE-12', 'RE-13'],
  'a file operation fails: reported, nothing lost, nothing damaged',
);
