/** Our own colours of a terminal. `forColourTerminal` lets exactly these pass. */

/** How each begins and ends. The two of weight end alike, so each begins again behind an end within its text. */
const SEQUENCES = {
  bold: ['\u001b[1m', '\u001b[22m'],
  dim: ['\u001b[2m', '\u001b[22m'],
  inverse: ['\u001b[7m', '\u001b[27m'],
  red: ['\u001b[31m', '\u001b[39m'],
  green: ['\u001b[32m', '\u001b[39m'],
  yellow: ['\u001b[33m', '\u001b[39m'],
  cyan: ['\u001b[36m', '\u001b[39m'],
} as const;

type Colour = keyof typeof SEQUENCES;
export type Colours = Readonly<Record<Colour, (text: string) => string>>;

const plain = (text: string) => text;

function painter([begin, end]: readonly [string, string]): (text: string) => string {
  const again = end === '\u001b[22m' ? end + begin : begin;
  return (text) => begin + text.replaceAll(end, again) + end;
}

/** Without `enabled` every text stays as it is. */
export function createColours(enabled: boolean): Colours {
  const names = Object.keys(SEQUENCES) as Colour[];
  const made = names.map((name) => [name, enabled ? painter(SEQUENCES[name]) : plain]);
  return Object.fromEntries(made) as Colours;
}
