/** Parses the supported syntax of regular expressions into a tree. */
import { addTo, classOf, inverted, LINE_ENDS, SET_BYTES, setOf } from './code-units.ts';

export type Node =
  | { is: 'set'; set: Uint8Array }
  | { is: 'assert'; assert: string }
  | { is: 'all'; nodes: Node[] }
  | { is: 'any'; nodes: Node[] }
  | { is: 'repeat'; node: Node; min: number; max: number; lazy: boolean };

const DEPTH_MAX = 32;

export class NotUnderstood extends Error {}

export function readRegex(source: string): Node {
  return new Reader(source).read();
}

const CONTROLS = new Map([
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
  ['0', 0],
]);

class Reader {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#source.length) throw new NotUnderstood('has a ) too many');
    return node;
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #alternatives(): Node {
    const nodes = [this.#sequence()];
    while (this.#take('|')) nodes.push(this.#sequence());
    return nodes.length === 1 ? (nodes[0] as Node) : { is: 'any', nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] as string))
      nodes.push(this.#quantified());
    return { is: 'all', nodes };
  }

  #quantified(): Node {
    const node = this.#atom();
    const counts = this.#counts();
    if (counts === null) return node;
    // JavaScript has special rules for repeating an empty match.
    if (mayBeEmpty(node)) throw new NotUnderstood('repeats something that may be empty');
    const [min, max] = counts;
    if (max < min) throw new NotUnderstood('has a count with its numbers out of order');
    const repeat: Node = { is: 'repeat', node, min, max, lazy: this.#take('?') };
    if (this.#counts() !== null) throw new NotUnderstood('has two quantifiers in a row');
    return repeat;
  }

  #counts(): [number, number] | null {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    if (this.#source[this.#at] !== '{') return null;
    const match = /^\{(\d+)(,(\d*))?\}/.exec(this.#source.slice(this.#at));
    if (match === null) throw new NotUnderstood('has a { that does not begin a count: write \\{');
    const [whole, low, comma, high] = match;
    this.#at += whole.length;
    const min = Number(low);
    if (comma === undefined) return [min, min];
    return [min, high === '' ? Number.POSITIVE_INFINITY : Number(high)];
  }

  #atom(): Node {
    const char = this.#source[this.#at] as string;
    this.#at += 1;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return { is: 'set', set: this.#class() };
      case '.':
        return { is: 'set', set: inverted(LINE_ENDS) };
      case '^':
      case '$':
        return { is: 'assert', assert: char };
      case '\\':
        if (this.#take('b')) return { is: 'assert', assert: 'b' };
        if (this.#take('B')) return { is: 'assert', assert: 'B' };
        return { is: 'set', set: this.#escape() };
      case '*':
      case '+':
      case '?':
      case '{':
        throw new NotUnderstood(`has a ${char} with nothing to repeat`);
      default:
        return { is: 'set', set: setOf([char.charCodeAt(0), char.charCodeAt(0)]) };
    }
  }

  #group(): Node {
    if (/^\?<?[=!]/.test(this.#source.slice(this.#at)))
      throw new NotUnderstood('looks ahead or behind');
    const opening = /^\?(?::|<[A-Za-z_]\w*>)/.exec(this.#source.slice(this.#at))?.[0];
    if (opening === undefined && this.#source[this.#at] === '?')
      throw new NotUnderstood('has a kind of group that is not supported');
    this.#at += opening?.length ?? 0;
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new NotUnderstood(`nests deeper than ${DEPTH_MAX} groups`);
    const node = this.#alternatives();
    this.#depth -= 1;
    if (!this.#take(')')) throw new NotUnderstood('has a group without its )');
    return node;
  }

  /** The part after a backslash. */
  #escape(): Uint8Array {
    const char = this.#source[this.#at] ?? '';
    const known = classOf(char);
    if (known !== undefined) {
      this.#at += 1;
      return known;
    }
    const unit = this.#escapedUnit();
    return setOf([unit, unit]);
  }

  #escapedUnit(): number {
    const rest = this.#source.slice(this.#at);
    const hex = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/.exec(rest);
    if (hex !== null) {
      this.#at += hex[0].length;
      return Number.parseInt((hex[1] ?? hex[2]) as string, 16);
    }
    const char = rest[0] ?? '';
    if (/^(?:[1-9]|k)/.test(rest)) throw new NotUnderstood('refers back to a group');
    if (/^0\d/.test(rest)) throw new NotUnderstood('has an octal number');
    const control = CONTROLS.get(char);
    if (control === undefined && /^(?:\w|$)/.test(rest))
      throw new NotUnderstood(`has the escape \\${char}, which is not supported`);
    this.#at += 1;
    return control ?? char.charCodeAt(0);
  }

  #class(): Uint8Array {
    const negated = this.#take('^');
    const set = new Uint8Array(SET_BYTES);
    while (!this.#take(']')) {
      const from = this.#classItem();
      const range = this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']';
      if (!range) {
        addTo(set, typeof from === 'number' ? setOf([from, from]) : from);
        continue;
      }
      this.#at += 1;
      const to = this.#classItem();
      if (typeof from !== 'number' || typeof to !== 'number')
        throw new NotUnderstood('has a range from or to a class');
      if (to < from) throw new NotUnderstood('has a range out of order');
      addTo(set, setOf([from, to]));
    }
    return negated ? inverted(set) : set;
  }

  #classItem(): number | Uint8Array {
    if (this.#at >= this.#source.length) throw new NotUnderstood('has a [ without its ]');
    const char = this.#source[this.#at] as string;
    this.#at += 1;
    if (char !== '\\') return char.charCodeAt(0);
    const known = classOf(this.#source[this.#at] ?? '');
    if (known !== undefined) {
      this.#at += 1;
      return known;
    }
    if (this.#take('b')) return 8;
    if (this.#take('-')) return 0x2d;
    return this.#escapedUnit();
  }
}

function mayBeEmpty(node: Node): boolean {
  switch (node.is) {
    case 'set':
      return false;
    case 'assert':
      return true;
    case 'all':
      return node.nodes.every(mayBeEmpty);
    case 'any':
      return node.nodes.some(mayBeEmpty);
    case 'repeat':
      return node.min === 0;
  }
}
