/**
 * Mistakes in a file that users wrote. Contract: all mistakes of a file are reported together and in one format,
 * `file:line:column: field why`, at most `LIMITS.mistakes_max` of them. Quoted text from the file is escaped.
 */
import { type ErrorCode, TachoError } from '../errors.ts';
import { forTerminal } from '../foreign-text.ts';
import { LIMITS } from '../limits.ts';

export type Path = readonly (string | number)[];

/** Both are 1-based. */
export interface Position {
  line: number;
  col: number;
}

/** A parsed text, with the position of each of its values. */
export interface Source {
  path: string;
  /** Undefined: the text cannot be parsed at all. */
  value: unknown;
  /** Parts that cannot be parsed. */
  faults: readonly (Position & { message: string })[];
  /** The position of a map's key, or of a value; if it does not exist, of its nearest parent. */
  positionOf(at: Path): Position;
  /** The value is not parsed from text, so mistakes have no position. */
  unplaced?: true;
}

const WORD_CHARS_MAX = 64;

/** A foreign word in a message. */
export const quoted = (word: string) =>
  JSON.stringify(word.length > WORD_CHARS_MAX ? `${word.slice(0, WORD_CHARS_MAX)}…` : word);

/** `tests[0].assertions[1].skill` */
export const fieldName = (at: Path) =>
  at
    .map((key, i) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!/^[\p{L}\p{N}_-]{1,64}$/u.test(key)) return `[${quoted(key)}]`;
      return i === 0 ? key : `.${key}`;
    })
    .join('');

function lineOf(path: string, at: Position | null, words: string): string {
  const place = at === null ? path : `${path}:${at.line}:${at.col}`;
  return forTerminal(`${place}: ${words}`).replaceAll('\n', '\\n');
}

class Lines {
  readonly #kept: string[] = [];
  #count = 0;

  /** Positions are looked up only for mistakes that are kept: a lookup takes time in proportion to the length of the line. */
  add(line: () => string): void {
    this.#count += 1;
    if (this.#kept.length < LIMITS.mistakes_max) this.#kept.push(line());
  }

  all(): string[] {
    const more = this.#count - this.#kept.length;
    return more > 0 ? [...this.#kept, `and ${more} more`] : this.#kept;
  }
}

/** `loose`: field names may be in camelCase, and null fields count as missing. */
export class Report {
  readonly mistakes = new Lines();
  readonly notes = new Lines();
  readonly loose: boolean;
  readonly #stage: string;
  readonly #code: ErrorCode;

  constructor(stage: string, { loose = false, code = 'config_invalid' as ErrorCode } = {}) {
    this.#stage = stage;
    this.#code = code;
    this.loose = loose;
  }

  /** Starts reading a file. Throws if it cannot be parsed at all. */
  open(source: Source): Place {
    for (const fault of source.faults)
      this.mistakes.add(() => lineOf(source.path, fault, fault.message));
    if (source.value === undefined) this.end();
    return new Place(this, source, []);
  }

  /** Throws a TachoError with all mistakes, if there are any. */
  end(): void {
    const text = this.mistakes.all().join('\n');
    if (text !== '') throw new TachoError(this.#code, text, { stage: this.#stage });
  }
}

/** A part of a file that is being read. */
export class Place {
  readonly report: Report;
  readonly at: Path;
  readonly #source: Source;

  constructor(report: Report, source: Source, at: Path) {
    this.report = report;
    this.#source = source;
    this.at = at;
  }

  inside(key: string | number): Place {
    return new Place(this.report, this.#source, [...this.at, key]);
  }

  /** `why`: a function if the message is expensive to build. `glue`: between the name of the field and `why`. */
  mistake(why: string | (() => string), glue: ' ' | ': ' = ' '): void {
    this.report.mistakes.add(() => this.#line(typeof why === 'string' ? why : why(), glue));
  }

  /** A warning: not a mistake. */
  note(why: string): void {
    this.report.notes.add(() => this.#line(why, ' '));
  }

  #line(why: string, glue: string): string {
    const words = this.at.length === 0 ? why : `${fieldName(this.at)}${glue}${why}`;
    const { path, unplaced } = this.#source;
    return lineOf(path, unplaced ? null : this.#source.positionOf(this.at), words);
  }
}
