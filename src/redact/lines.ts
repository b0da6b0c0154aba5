/** Private keys printed line by line, where each line is processed separately: on stderr, or as plain lines of stdout. */
import { keyBlockEnd, openKeyBlock } from './key-blocks.ts';

/** Maximum lines of one key. The longest in use has about 250. */
const KEY_LINES_MAX = 1_000;
/** This number of consecutive lines of prose ends a key. */
const PROSE_LINES_MAX = 20;

interface Block {
  lines: number;
  prose: number;
}

/** Redacts the lines of a channel in their order. */
export function createKeyLines(
  head: (text: string, bytes_max: number) => string,
  mark: (line: string) => string,
): (channel: string, text: string, bytes_max?: number) => string {
  const open = new Map<string, Block>();

  function inBlock(channel: string, block: Block, text: string, bytes_max: number): string {
    const end = keyBlockEnd(text);
    if (end > 0) {
      open.delete(channel);
      return mark(text.slice(0, end)) + line(channel, text.slice(end), bytes_max);
    }
    const prose = !looksLikeKey(text);
    block.lines += 1;
    block.prose = prose ? block.prose + 1 : 0;
    if (block.lines >= KEY_LINES_MAX || block.prose >= PROSE_LINES_MAX) open.delete(channel);
    return prose ? head(text, bytes_max) : mark(text);
  }

  function line(channel: string, text: string, bytes_max = Number.POSITIVE_INFINITY): string {
    const block = open.get(channel);
    if (block !== undefined && text.trim() !== '') return inBlock(channel, block, text, bytes_max);
    if (block === undefined && openKeyBlock(text) >= 0) open.set(channel, { lines: 0, prose: 0 });
    return head(text, bytes_max);
  }

  return line;
}

/** A sequence of base64, or a short line: the last line of a key may have any length, after a number or a quote mark. */
function looksLikeKey(text: string): boolean {
  if (/[A-Za-z0-9+/=]{16}/.test(text)) return true;
  return text.trim().split(/\s+/, 3).length < 3;
}
