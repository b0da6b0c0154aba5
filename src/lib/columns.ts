/**
 * Characters of a text as a reader sees them, and their width in terminal columns. Tables are loaded on first use:
 * `Intl.Segmenter` and `\p{RGI_Emoji}` take about 20 ms, and most texts need neither.
 */
import { lazy } from './lazy.ts';

export interface Character {
  segment: string;
  index: number;
}

const ASCII = /^[\x20-\x7e]*$/;
/** Text of common scripts in which each unit is one character: nothing joins or combines. */
const SIMPLE =
  /^[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2070-\u20bf\u2100-\u2bff\u3000-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\ua48c\uac00-\ud7a3]*$/;

/** Colours, links, titles, cursor moves (ECMA-48): terminated strings, sequences with parameters, others. */
const CONTROL_SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|\x1b[\x20-\x2f]*[\x30-\x7e]/g;

const segmenter = lazy(() => new Intl.Segmenter());

/** Iterates over the characters of a text, each with its position. */
export function characters(text: string): Iterable<Character> {
  return SIMPLE.test(text) ? units(text) : segmenter().segment(text);
}

function* units(text: string): Iterable<Character> {
  for (let index = 0; index < text.length; index++) yield { segment: text.charAt(index), index };
}

/** Width of a text in columns. Control sequences have no width. */
export function columns(text: string): number {
  const shown = /[\x1b\x9b]/.test(text) ? text.replace(CONTROL_SEQUENCE, '') : text;
  if (ASCII.test(shown)) return shown.length;
  let sum = 0;
  for (const { segment } of characters(shown)) sum += characterColumns(segment);
  return sum;
}

/** Width of one character in columns. */
export function characterColumns(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  const alone = character.length === (code > 0xffff ? 2 : 1);
  // Most characters are Latin and one column wide.
  if (alone && ((code >= 0x20 && code < 0x7f) || (code >= 0xc0 && code < 0x300))) return 1;
  if (alone && SIMPLE.test(character)) return pointColumns(character);
  const from = character.search(VISIBLE());
  if (from === -1) return 0;
  if (alone) return pointColumns(character);
  return isEmoji(character) ? 2 : joinedColumns(character.slice(from));
}

const pointColumns = (point: string) => (WIDE().test(point) ? 2 : 1);

/** Visible characters: no controls, zero-width marks or ignorable code points. */
const VISIBLE = lazy(
  () =>
    /[^\p{Default_Ignorable_Code_Point}\p{Control}\p{Format}\p{Nonspacing_Mark}\p{Enclosing_Mark}\p{Surrogate}]/v,
);

/** Every emoji of several code points contains one of these. */
const JOINS_EMOJI =
  /[\u200d\u20e3\ufe0f\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;
const EMOJI = lazy(() => /^\p{RGI_Emoji}$/v);
const KEYCAP = /^[\d#*]\u20e3$/;
const PICTURE = lazy(() => /\p{Extended_Pictographic}/gu);
/** Longer than any real emoji. */
const EMOJI_UNITS_MAX = 50;

/** An emoji of several code points. Joined pictures count even without the required selectors. */
function isEmoji(character: string): boolean {
  if (!JOINS_EMOJI.test(character)) return false;
  if (EMOJI().test(character)) return true;
  if (character.length > EMOJI_UNITS_MAX) return false;
  if (KEYCAP.test(character)) return true;
  return character.includes('\u200d') && (character.match(PICTURE())?.length ?? 0) >= 2;
}

/** Decomposed Hangul: leading consonants, then vowels and trailing consonants. */
const JAMO = /^[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7c6\ud7cb-\ud7fb]/;
const SYLLABLE =
  /[\u1100-\u115f\ua960-\ua97c][\u1160-\u11a7\ud7b0-\ud7c6][\u11a8-\u11ff\ud7cb-\ud7fb]?/g;
/** Spacing marks and half-width forms, which widen the character they belong to. */
const BESIDE = lazy(() => /[\p{Spacing_Mark}\uff00-\uffef]/u);

/** Width of a character of several code points, from its first visible one. */
function joinedColumns(character: string): number {
  if (JAMO.test(character)) {
    const shown = Array.from(character).filter((point) => VISIBLE().test(point));
    return sumOf(shown.join('').replace(SYLLABLE, '\uac00'), () => true);
  }
  return sumOf(character, (point, at) => at === 0 || BESIDE().test(point));
}

function sumOf(points: string, counts: (point: string, at: number) => boolean): number {
  let sum = 0;
  let at = 0;
  for (const point of points) if (counts(point, at++)) sum += pointColumns(point);
  return sum;
}

/** East Asian Width in Unicode 17: wide and full-width. */
const WIDE = lazy(
  () =>
    new RegExp(
      `[${[
        String.raw`\u1100-\u115f\u231a-\u231b\u2329-\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd-\u25fe`,
        String.raw`\u2614-\u2615\u2630-\u2637\u2648-\u2653\u267f\u268a-\u268f\u2693\u26a1\u26aa-\u26ab`,
        String.raw`\u26bd-\u26be\u26c4-\u26c5\u26ce\u26d4\u26ea\u26f2-\u26f3\u26f5\u26fa\u26fd\u2705`,
        String.raw`\u270a-\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b-\u2b1c`,
        String.raw`\u2b50\u2b55\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u2ff0-\u303e\u3041-\u3096`,
        String.raw`\u3099-\u30ff\u3105-\u312f\u3131-\u318e\u3190-\u31e5\u31ef-\u321e\u3220-\u3247`,
        String.raw`\u3250-\ua48c\ua490-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19`,
        String.raw`\ufe30-\ufe52\ufe54-\ufe66\ufe68-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{16fe4}`,
        String.raw`\u{16ff0}-\u{16ff6}\u{17000}-\u{18cda}\u{18cff}-\u{18d20}\u{18d80}-\u{18df2}`,
        String.raw`\u{18e00}-\u{19191}\u{191a0}-\u{191d2}\u{1aff0}-\u{1aff3}\u{1aff5}-\u{1affb}`,
        String.raw`\u{1affd}-\u{1affe}\u{1b000}-\u{1b128}\u{1b132}\u{1b150}-\u{1b152}\u{1b155}`,
        String.raw`\u{1b164}-\u{1b168}\u{1b170}-\u{1b2fb}\u{1d300}-\u{1d356}\u{1d360}-\u{1d376}\u{1f004}`,
        String.raw`\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f1ae}\u{1f200}-\u{1f202}\u{1f210}-\u{1f23b}`,
        String.raw`\u{1f240}-\u{1f248}\u{1f250}-\u{1f251}\u{1f260}-\u{1f265}\u{1f300}-\u{1f320}`,
        String.raw`\u{1f32d}-\u{1f335}\u{1f337}-\u{1f37c}\u{1f37e}-\u{1f393}\u{1f3a0}-\u{1f3ca}`,
        String.raw`\u{1f3cf}-\u{1f3d3}\u{1f3e0}-\u{1f3f0}\u{1f3f4}\u{1f3f8}-\u{1f43e}\u{1f440}`,
        String.raw`\u{1f442}-\u{1f4fc}\u{1f4ff}-\u{1f53d}\u{1f54b}-\u{1f54e}\u{1f550}-\u{1f567}\u{1f57a}`,
        String.raw`\u{1f595}-\u{1f596}\u{1f5a4}\u{1f5fb}-\u{1f64f}\u{1f680}-\u{1f6c5}\u{1f6cc}`,
        String.raw`\u{1f6d0}-\u{1f6d2}\u{1f6d5}-\u{1f6d9}\u{1f6dc}-\u{1f6df}\u{1f6eb}-\u{1f6ec}`,
        String.raw`\u{1f6f4}-\u{1f6fc}\u{1f7da}\u{1f7e0}-\u{1f7eb}\u{1f7f0}\u{1f90c}-\u{1f93a}`,
        String.raw`\u{1f93c}-\u{1f945}\u{1f947}-\u{1f9ff}\u{1fa70}-\u{1fa7c}\u{1fa80}-\u{1fac6}\u{1fac8}`,
        String.raw`\u{1facc}-\u{1fadd}\u{1fadf}-\u{1faeb}\u{1faef}-\u{1fafa}\u{20000}-\u{2fffd}`,
        String.raw`\u{30000}-\u{3fffd}`,
      ].join('')}]`,
      'u',
    ),
);
