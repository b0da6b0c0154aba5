/**
 * One line of text → drafts. Contract: never throws. Lines that are not JSON, too deeply nested, unknown or truncated become a
 * `problem` with enough detail to find them again. A bug in the decoder is distinguished from invalid input.
 */
import { bytesIn, changedText, charsIn, isLonger, jsonInside } from '../lib/byte-text.ts';
import { refusedFigures, shortenedNames } from '../lib/foreign.ts';
import { mayBeJson, nestsDeeper } from '../lib/json.ts';
import { LIMITS } from '../lib/limits.ts';
import { cutUtf8 } from '../lib/utf8.ts';
import type { Decoder, SessionPart } from '../model/agent.ts';
import type { Draft, DraftOf } from '../model/draft.ts';
import type { Channel, ProblemCode, ProblemStage } from '../model/words.ts';

/** The number of positions in a broken line that are tried as the start of a complete record. */
const SALVAGE_TRIES = 16;

export interface LineContext {
  channel: Channel;
  terminated: boolean;
  /** Some bytes of the line were not UTF-8 and appear in the text as U+FFFD. */
  invalid_utf8: boolean;
  part?: SessionPart | undefined;
}

/**
 * Contract: text and detail are complete. The pipeline truncates them after redaction, so that no secret is split.
 */
export function problem(
  stage: ProblemStage,
  code: ProblemCode,
  detail: string,
  text: string | null = null,
): DraftOf<'problem'> {
  return {
    kind: 'problem',
    data: {
      stage,
      code,
      detail,
      bytes: text === null ? null : bytesIn(text),
      sha256: null,
      excerpt: text,
    },
  };
}

/** A problem as it is stored. */
export function cutProblem(draft: DraftOf<'problem'>): DraftOf<'problem'> {
  const detail = keptDetail(draft.data.detail);
  const excerpt =
    draft.data.excerpt === null
      ? null
      : changedText(draft.data.excerpt, (text) => cutUtf8(text, LIMITS.excerpt_bytes_max));
  return { ...draft, data: { ...draft.data, detail, excerpt } };
}

/** A problem's detail as it is stored. */
export function keptDetail(detail: string): string {
  return changedText(detail, (text) => cutUtf8(text, LIMITS.problem_detail_bytes_max));
}

/** For a line with bytes that were not UTF-8. */
export function replacedBytes(text: string): DraftOf<'problem'> {
  const detail = 'bytes that are not UTF-8 were replaced with U+FFFD';
  return problem('frame', 'invalid_utf8', detail, text);
}

/** Passes one parsed record to the decoder and catches everything it throws. */
export function decodeRecord(
  value: unknown,
  decoder: Decoder,
  out: Draft[],
  part?: SessionPart,
): void {
  survived(out, () => decoder.record(value, out, part));
}

/** Notifies the decoder of the end of the input. */
export function decodeEnd(decoder: Decoder, out: Draft[]): void {
  survived(out, () => decoder.end(out));
}

/** Whether the decoder accepts a line that is not JSON. Records completed by the line are decoded. */
function takesText(text: string, decoder: Decoder, out: Draft[], part?: SessionPart): boolean {
  const records = survived(out, () => decoder.text?.(text, out) ?? null);
  for (const record of records ?? []) decodeRecord(record, decoder, out, part);
  return records !== null;
}

/** Undefined if it failed. Values that were refused or shortened are reported here, because the next caller is another run. */
function survived<T>(out: Draft[], body: () => T): T | undefined {
  const before = out.length;
  // Other readers, such as code that sorts files, also refuse and shorten values.
  refusedFigures();
  shortenedNames();
  let result: T | undefined;
  try {
    result = body();
  } catch (fault) {
    out.length = before;
    out.push(problem('decode', 'decoder_fault', `decoder failed: ${(fault as Error).message}`));
  }
  const refused = refusedFigures();
  if (refused !== null) out.push(refused);
  const shortened = shortenedNames();
  if (shortened !== null) out.push(shortened);
  return result;
}

export function decodeLine(
  text: string,
  decoder: Decoder,
  context: LineContext,
  out: Draft[],
): void {
  if (context.invalid_utf8) out.push(replacedBytes(text));
  if (context.channel === 'stderr') {
    decodeStderr(text, decoder, out);
    return;
  }
  if (isLonger(text, LIMITS.depth_scan_from_bytes - 1) && nestsDeeper(text, LIMITS.depth_max)) {
    out.push(problem('decode', 'too_deep', `nests deeper than ${LIMITS.depth_max}`, text));
    return;
  }
  if (!mayBeJson(text)) {
    decodeBroken(text, decoder, context, out);
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    decodeBroken(text, decoder, context, out);
    return;
  }
  if (typeof value === 'object' && value !== null) decodeRecord(value, decoder, out, context.part);
  else decodeText(text, decoder, out, context.part);
}

function decodeText(text: string, decoder: Decoder, out: Draft[], part?: SessionPart): void {
  if (takesText(text, decoder, out, part)) return;
  // A line of white space is a blank line.
  if (/^[ \t]+$/.test(text)) return;
  out.push(problem('decode', 'not_json', 'a line that is not a JSON record', text));
}

/** A line that cannot be parsed: truncated, two records joined, or plain text. */
function decodeBroken(text: string, decoder: Decoder, context: LineContext, out: Draft[]): void {
  // A document that spans several lines begins with a lone bracket.
  if (text === '{' && context.terminated && takesText(text, decoder, out)) return;
  if (!text.startsWith('{')) {
    if (!context.terminated && text.startsWith('['))
      out.push(problem('frame', 'torn_line', 'the last line is incomplete', text));
    else decodeText(text, decoder, out, context.part);
    return;
  }
  if (!context.terminated) {
    out.push(problem('frame', 'torn_line', 'the last line is incomplete', text));
    return;
  }
  let from = mayBeJson(text) ? text.indexOf('{"', 1) : -1;
  for (let tries = 0; from > 0 && tries < SALVAGE_TRIES; tries++) {
    const value = jsonInside(text.slice(from));
    if (value !== undefined) {
      const broken = text.slice(0, from);
      const detail = `a whole record followed ${charsIn(broken)} broken characters`;
      out.push(problem('decode', 'salvaged_line', detail, broken));
      decodeRecord(value, decoder, out, context.part);
      return;
    }
    from = text.indexOf('{"', from + 1);
  }
  out.push(problem('decode', 'not_json', 'a record that cannot be parsed', text));
}

/** stderr is for people. A JSON record there is still decoded (RO-7), and anything else is kept as a notice. */
function decodeStderr(text: string, decoder: Decoder, out: Draft[]): void {
  if (text.startsWith('{') && text.length < LIMITS.depth_scan_from_bytes && mayBeJson(text)) {
    try {
      const drafts: Draft[] = [];
      decodeRecord(JSON.parse(text), decoder, drafts);
      if (drafts.length > 0 && drafts.every((draft) => draft.kind !== 'problem')) {
        out.push(...drafts);
        return;
      }
    } catch {
      // Not JSON: kept as text below.
    }
  }
  out.push({ kind: 'notice', data: { code: 'stderr', text } });
}
