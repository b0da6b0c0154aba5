/** Criteria 2.1–2.4: what arrives is what was there, whole, of the right types, readable. */
import { LIVE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item } from './tracked.ts';

const SOURCE_MISSING = 'the stream as it was sent is not known: give it with --against';

const integrity: SectionRule = {
  id: '2.1',
  title: 'content is what was sent',
  types: null,
  nothing: SOURCE_MISSING,
  create(tally, { against, live }) {
    let not_compared = 0;
    return {
      push(item) {
        const { message, seq } = item;
        if (message === null || seq === null) return;
        if (item.standing === 'conflict') {
          tally.judge(item, 'a message with this number came before, with other content');
          return;
        }
        if (against === null) return;
        const found = against.compare(message);
        if (found === 'unknown') not_compared += 1;
        else tally.judge(item, found);
      },
      end() {
        if (against === null || live) return;
        // Each is a failure of its own; those beyond the list only count.
        const { first, all } = against.missing(1_000_000);
        for (const place of first) tally.judge(place, 'it was sent and is not here');
        not_compared += all - first.length;
      },
      nothing: () => (against === null ? SOURCE_MISSING : 'there is no numbered message'),
      unjudged() {
        if (against === null) return [SOURCE_MISSING];
        return not_compared === 0 ? [] : [`${not_compared} messages are beyond the limit`];
      },
    };
  },
};

const isNull = ({ fault }: Item) => fault?.details.received_type === 'null';

/** A rule on the faults of messages of known types. */
const fieldRule = (
  { id, title }: { id: string; title: string },
  isFault: (item: Item) => boolean,
): SectionRule => ({
  id,
  title,
  types: LIVE_TYPES,
  nothing: 'there is no message of a known type',
  create: (tally) => ({
    push: (item) => tally.judge(item, isFault(item) ? (item.fault?.message ?? null) : null),
  }),
});

const SURROGATE = /\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f])|d[c-f])/i;
const PAIR = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/gi;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UNREADABLE: ReadonlySet<string> = new Set(['INVALID_JSON_FORMAT', 'INVALID_NDJSON_FORMAT']);

/** Text that says it is base64 and is not; null: there is none. The value is no deeper than its reader lets through. */
function badBase64(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = badBase64(item);
      if (found !== null) return found;
    }
    return null;
  }
  const map = value as Record<string, unknown>;
  if (map.encoding === 'base64') {
    const texts = Object.entries(map).filter(
      ([name, text]) => BASE64_FIELDS.has(name) && typeof text === 'string',
    );
    if (texts.length === 0) return 'encoding is base64, and there is no text with it';
    const bad = texts.find(([, text]) => !BASE64.test(text as string));
    return bad === undefined ? null : `${bad[0]} says it is base64, and is not`;
  }
  for (const name in map) {
    const found = badBase64(map[name]);
    if (found !== null) return found;
  }
  return null;
}
const BASE64_FIELDS: ReadonlySet<string> = new Set([
  'data',
  'content',
  'text',
  'value',
  'base64',
  'bytes',
]);

/** Whether a text has a word. A piece of it that begins with a rare character is looked for first: that is much faster. */
const has = (text: string, piece: string, word: string) =>
  text.includes(piece) && text.includes(word);

function encodingFault({ fault, text, message }: Item): string | null {
  if (fault !== null) return UNREADABLE.has(fault.code) ? fault.message : null;
  // Escaped backslashes first: \\ud800 is the text \ud800, not half a character.
  if (has(text, '\\', '\\u') && SURROGATE.test(text.replaceAll('\\\\', '').replace(PAIR, '')))
    return 'half a character: a surrogate without its other half';
  return has(text, '64"', '"base64"') ? badBase64(message?.data) : null;
}

const encoding: SectionRule = {
  id: '2.4',
  title: 'lines are UTF-8 and JSON, bytes are base64',
  types: null,
  nothing: 'there is no line',
  create: (tally) => ({ push: (item) => tally.judge(item, encodingFault(item)) }),
};

export const CONTENT_RULES: readonly SectionRule[] = [
  integrity,
  fieldRule(
    { id: '2.2', title: 'required fields are there' },
    (item) => item.fault?.code === 'MISSING_REQUIRED_FIELD' || isNull(item),
  ),
  fieldRule(
    { id: '2.3', title: 'fields are of their types' },
    (item) => item.fault?.code === 'INVALID_FIELD_TYPE' && !isNull(item),
  ),
  encoding,
];
