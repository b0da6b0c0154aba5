/** How text for people looks on this output. */
import { createColours } from '../lib/colours.ts';
import type { HumanStyle } from '../projections/human-parts.ts';
import type { Io } from './command.ts';

export function styleOf(io: Io): HumanStyle {
  const { unicode, width, out_is_terminal: wrap } = io;
  return { colour: createColours(io.colour), unicode, width, wrap };
}
