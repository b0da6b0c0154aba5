/** The stdout decoder. It reads all forms of records that the family has. */
import { records } from '../kit/opencode-family/stream.ts';
import { toolNamesIn } from '../kit/opencode-family/tools.ts';
import { tools } from './tools.ts';

export const stream = () => records(toolNamesIn(tools));
