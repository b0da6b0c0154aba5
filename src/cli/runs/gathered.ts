/** Writes lists of any length in chunks, each before more of the list is requested. */

const PIECE_CHARS = 64 * 1024;

/** Returns whether there was any output. Nothing is written before the first chunk is full or the list has ended. */
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
