/** Lists of any length on their way out: gathered into pieces, each written before more of the list is asked for. */

const PIECE_CHARS = 64 * 1024;

/** Returns whether there was anything. Nothing is written before the first piece is full or the list has ended. */
export async function writeGathered(
  texts: Iterable<string>,
  write: (text: string) => Promise<void>,
): Promise<boolean> {
  let gathered: string[] = [];
  let chars = 0;
  let any = false;
  for (const text of texts) {
    any = true;
    gathered.push(text);
    chars += text.length;
    if (chars < PIECE_CHARS) continue;
    await write(gathered.join(''));
    gathered = [];
    chars = 0;
  }
  if (gathered.length > 0) await write(gathered.join(''));
  return any;
}
