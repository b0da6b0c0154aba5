/** The tool table: that of the family. */
export { TOOLS as tools } from '../kit/opencode-family/tools.ts';
