/** Commands of which a file operation fails; all of them: `npm run torture -- --only error`. */
import { testSample } from './sample.ts';

testSample('error', 'a file operation fails: reported, nothing lost, nothing damaged', 4);
