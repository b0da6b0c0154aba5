/**
 * The words of a shell command line: quotes, escapes, operators, here-documents, substitutions.
 * Contract: nothing is run or expanded; a word with an unknown value is marked.
 */

export interface Word {
  text: string;
  /** Contains an expansion, a glob or an open quote, so its value is unknown. */
  unsure: boolean;
  /** An operator such as `|`, `&&`, `>`. */
  operator: boolean;
  /** Command lines inside it: `$(…)` and backticks. */
  inner?: string[];
  /** A part of it is quoted. */
  quoted?: true;
  /** For the tag of a here-document: its body, which is data unless the program is a shell. */
  document?: string;
}

/** Literal characters. Most words contain nothing else. */
const PLAIN = /[\w./:,=+@%^~-]+/y;
const OPERATOR = /^(?:\|\||&&|\|&|;;|<<<|<<-?|>>|>&|<&|&>>?|<>|>\||[|&;<>()\n])/;

export function wordsOf(command: string): Word[] {
  const words: Word[] = [];
  const documents: Heredoc[] = [];
  let at = 0;
  while (at < command.length) {
    const char = command[at] as string;
    if (char === ' ' || char === '\t' || char === '\r') {
      at += 1;
    } else if (char === '\\' && command[at + 1] === '\n') {
      at += 2;
    } else if (char === '#') {
      const end = command.indexOf('\n', at);
      at = end < 0 ? command.length : end;
    } else {
      const operator = '|&;<>()\n'.includes(char) ? OPERATOR.exec(command.slice(at, at + 3)) : null;
      if (operator) {
        words.push({ text: operator[0], unsure: false, operator: true });
        at += operator[0].length;
        if (char === '\n')
          for (const one of documents.splice(0)) at = skipHeredoc(command, at, one);
      } else {
        const start = words.at(-1);
        at = readWord(command, at, words);
        const tag = words.at(-1) as Word;
        if (start?.operator && /^<<-?$/.test(start.text) && tag !== start)
          documents.push({ tag, tabs: start.text === '<<-' });
      }
    }
  }
  return words;
}

interface Heredoc {
  tag: Word;
  /** Tabs before the tag are ignored. */
  tabs: boolean;
}

/** The position after a here-document. Its body becomes a part of the tag. */
function skipHeredoc(command: string, from: number, { tag: word, tabs }: Heredoc): number {
  const tag = word.text;
  let at = from;
  while (at < command.length) {
    const next = command.indexOf('\n', at);
    const end = next < 0 ? command.length : next;
    const start = tabs ? afterTabs(command, at) : at;
    const length = command[end - 1] === '\r' ? end - 1 - start : end - start;
    // The newline after the tag ends the command before the document's.
    if (length === tag.length && command.startsWith(tag, start)) {
      word.document = command.slice(from, at);
      return end;
    }
    at = end + 1;
  }
  word.document = command.slice(from);
  return command.length;
}

function afterTabs(command: string, from: number): number {
  let at = from;
  while (command[at] === '\t') at += 1;
  return at;
}

function readWord(command: string, from: number, words: Word[]): number {
  PLAIN.lastIndex = from;
  let text = PLAIN.exec(command)?.[0] ?? '';
  let unsure = false;
  let quoted = false;
  const inner: string[] = [];
  let at = from + text.length;
  for (; at < command.length; at++) {
    const char = command[at] as string;
    if (' \t\n\r|&;<>()'.includes(char)) break;
    if (char === "'" || char === '"' || char === '\\') quoted = true;
    if (char === "'") {
      const end = command.indexOf("'", at + 1);
      text += command.slice(at + 1, end < 0 ? command.length : end);
      unsure ||= end < 0;
      at = end < 0 ? command.length : end;
    } else if (char === '"') {
      const quoted = readDoubleQuoted(command, at + 1, inner);
      text += quoted.text;
      unsure ||= quoted.unsure;
      at = quoted.end;
    } else if (char === '\\') {
      at += 1;
      if (command[at] !== '\n') text += command[at] ?? '';
    } else {
      if ('$`*?[{'.includes(char)) unsure = true;
      const end = substitutionEnd(command, at, inner);
      if (end === null) text += char;
      else at = end;
    }
  }
  // A descriptor number before a redirection belongs to it: `2>&1`.
  if (/^\d+$/.test(text) && (command[at] === '>' || command[at] === '<')) return at;
  words.push({
    ...{ text, unsure, operator: false },
    ...(inner.length > 0 && { inner }),
    ...(quoted && { quoted }),
  });
  return at;
}

function readDoubleQuoted(
  command: string,
  from: number,
  inner: string[],
): { text: string; unsure: boolean; end: number } {
  let text = '';
  let unsure = false;
  let at = from;
  for (; at < command.length && command[at] !== '"'; at++) {
    if (command[at] === '\\' && command[at + 1] === '\n') {
      at += 1;
      continue;
    }
    if (command[at] === '\\' && '"\\$`'.includes(command[at + 1] ?? '')) at += 1;
    else if (command[at] === '$' || command[at] === '`') {
      unsure = true;
      const end = substitutionEnd(command, at, inner);
      if (end !== null) {
        at = end;
        continue;
      }
    }
    text += command[at] ?? '';
  }
  return { text, unsure: unsure || at >= command.length, end: at };
}

/** The command lines in a text with expansions, such as the body of a here-document. */
export function substitutionsIn(text: string): string[] {
  const inner: string[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else at = substitutionEnd(text, at, inner) ?? at;
  }
  return inner;
}

/** The position of the last character of the `$(…)` or backticks at `at`; adds its command line to `inner`. Null: none. */
function substitutionEnd(command: string, at: number, inner: string[]): number | null {
  const open =
    command[at] === '`' ? at : command[at] === '$' && command[at + 1] === '(' ? at + 1 : null;
  if (open === null) return null;
  const end = open === at ? command.indexOf('`', at + 1) : closingBracket(command, open);
  if (end < 0) return command.length;
  inner.push(command.slice(open + 1, end));
  return end;
}

/** The position where the bracket at `open` closes, outside of quotes; -1 if it does not. */
function closingBracket(command: string, open: number): number {
  let depth = 0;
  for (let at = open; at < command.length; at++) {
    const char = command[at];
    if (char === '\\') at += 1;
    else if (char === "'" || char === '"') {
      let end = command.indexOf(char, at + 1);
      while (char === '"' && end > 0 && command[end - 1] === '\\')
        end = command.indexOf(char, end + 1);
      if (end < 0) return -1;
      at = end;
    } else if (char === '(') depth += 1;
    else if (char === ')' && --depth === 0) return at;
  }
  return -1;
}
