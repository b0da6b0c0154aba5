/** The terminal colours that tacho uses. `forColourTerminal` allows exactly these. */

/** Start and end sequences. Bold and dim share an end sequence, so each is restarted after the other one ends inside it. */
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

/** Unless `enabled`, texts are not changed. */
export function createColours(enabled: boolean): Colours {
  const names = Object.keys(SEQUENCES) as Colour[];
  const made = names.map((name) => [name, enabled ? painter(SEQUENCES[name]) : plain]);
  return Object.fromEntries(made) as Colours;
}
