/** Criteria 2.1–2.4: content arrives unchanged, complete, well-typed and readable. */
import { LIVE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item } from './tracked.ts';

const SOURCE_MISSING = 'the sent stream is unknown; pass it with --against';

const integrity: SectionRule = {
  id: '2.1',
  title: 'content arrives as it was sent',
  types: null,
  nothing: SOURCE_MISSING,
  create(tally, { against, live }) {
    let not_compared = 0;
    return {
      push(item) {
        const { message, seq } = item;
        if (message === null || seq === null) return;
        if (item.sequence === 'conflict') {
          tally.judge(item, 'an earlier message has the same number and different content');
          return;
        }
        if (against === null) return;
        const found = against.compare(message);
        if (found === 'unknown') not_compared += 1;
        else tally.judge(item, found);
      },
      end() {
        if (against === null || live) return;
        // Each missing message is a failure; those beyond the limit are only counted.
        const { first, all } = against.missing(1_000_000);
        for (const place of first) tally.judge(place, 'the message was sent but not received');
        not_compared += all - first.length;
      },
      nothing: () => (against === null ? SOURCE_MISSING : 'there are no numbered messages'),
      unjudged() {
        if (against === null) return [SOURCE_MISSING];
        return not_compared === 0
          ? []
          : [`${not_compared} messages beyond the limit of the comparison`];
      },
    };
  },
};

const isNull = ({ fault }: Item) => fault?.details.received_type === 'null';

/** A rule for faults in messages of known types. */
const fieldRule = (
  { id, title }: { id: string; title: string },
  isFault: (item: Item) => boolean,
): SectionRule => ({
  id,
  title,
  types: LIVE_TYPES,
  nothing: 'there are no messages of a known type',
  create: (tally) => ({
    push: (item) => tally.judge(item, isFault(item) ? (item.fault?.message ?? null) : null),
  }),
});

const SURROGATE = /\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f])|d[c-f])/i;
const PAIR = /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/gi;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UNREADABLE: ReadonlySet<string> = new Set(['INVALID_JSON_FORMAT', 'INVALID_NDJSON_FORMAT']);

/** The first invalid base64 text; null when there is none. The reader of messages has bounded the depth. */
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
    if (texts.length === 0) return 'encoding is base64, but there is no text to decode';
    const bad = texts.find(([, text]) => !BASE64.test(text as string));
    return bad === undefined ? null : `${bad[0]} is not valid base64, although encoding is base64`;
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

/** Whether the text contains the word. Searching first for a piece that begins with a rare character is much faster. */
const has = (text: string, piece: string, word: string) =>
  text.includes(piece) && text.includes(word);

function encodingFault({ fault, text, message }: Item): string | null {
  if (fault !== null) return UNREADABLE.has(fault.code) ? fault.message : null;
  // Escaped backslashes are removed first: \\ud800 is the text \ud800, not a surrogate.
  if (has(text, '\\', '\\u') && SURROGATE.test(text.replaceAll('\\\\', '').replace(PAIR, '')))
    return 'an unpaired surrogate in a string';
  return has(text, '64"', '"base64"') ? badBase64(message?.data) : null;
}

const encoding: SectionRule = {
  id: '2.4',
  title: 'lines are UTF-8 and JSON, binary data is base64',
  types: null,
  nothing: 'the stream is empty',
  create: (tally) => ({ push: (item) => tally.judge(item, encodingFault(item)) }),
};

export const CONTENT_RULES: readonly SectionRule[] = [
  integrity,
  fieldRule(
    { id: '2.2', title: 'required fields are present' },
    (item) => item.fault?.code === 'MISSING_REQUIRED_FIELD' || isNull(item),
  ),
  fieldRule(
    { id: '2.3', title: 'fields have the right types' },
    (item) => item.fault?.code === 'INVALID_FIELD_TYPE' && !isNull(item),
  ),
  encoding,
];
