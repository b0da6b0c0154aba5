/** Words that the project does not use: each has a plain technical word in its place (CONTRIBUTING.md, "Language"). */

interface Wording {
  /** Matched line by line, in prose, comments, messages and names. */
  pattern: RegExp;
  instead: string;
}

/** Nouns after which "a" means "per": one line a run. */
const COUNTED =
  'line|run|session|call|file|folder|command|process|message|event|result|test|agent|type|page|step|user|store|tool|name|row|machine|topic|level|place|segment|record|text|value';

/** Words after which "a" is an article. */
const NOT_COUNTED =
  'a|about|and|after|as|at|be|before|behind|beside|between|but|by|for|from|if|in|inside|into|is|like|not|of|on|one|or|over|per|than|that|to|under|until|when|where|whether|which|while|with|within|without|\\w+(?:s|ed|ing)';

const WORDINGS: readonly Wording[] = [
  { pattern: /\b(?:tells?|telling|told)\b/i, instead: 'report, say, show, print' },
  { pattern: /\b(?:stands?|standing|stood)\b(?!-)/i, instead: 'is, is listed, replaces' },
  { pattern: /\b(?:go|goes|going|gone|went) on\b/i, instead: 'continue, resume, happen' },
  { pattern: /\bso (?:many|often)\b/i, instead: 'N, at most N' },
  { pattern: /\bchances?\b/i, instead: 'random' },
  { pattern: /\ba word (?:on|how|about)\b/i, instead: 'a note, a message' },
  { pattern: /\bwho(?:se|ever)\b/i, instead: 'name the subject' },
  { pattern: /\bis said\b/i, instead: 'is reported' },
  {
    pattern: /\b(?:for want of|of before(?!\.)|dear|dearer|anew|wondered about)\b/i,
    instead: 'use the usual word',
  },
  { pattern: /\bholds? to\b/i, instead: 'match, follow' },
  { pattern: /\blets? go\b/i, instead: 'remove' },
  { pattern: /\blies?\b/i, instead: 'is, is stored' },
  { pattern: /\bshall\b/i, instead: 'must, will' },
  { pattern: /\b(?:go(?:es|ing|ne)?|went) away\b/i, instead: 'disconnect, exit, disappear' },
  { pattern: /\b(?:is|are|was|were) not there\b/i, instead: 'is missing, does not exist' },
  {
    pattern: /\b(?:that|which) (?:is|are|was|were) (?:none\b|no (?!longer|more|other)\w)/i,
    instead: 'that is not a …, invalid',
  },
  { pattern: /\b(?:in|takes?|took|taken) the place of\b/i, instead: 'in place of, replace' },
  { pattern: /\bput aside\b/i, instead: 'set aside' },
  { pattern: /\b(?:comes?|came) again\b/i, instead: 'return, repeat' },
  { pattern: /\bnow and then\b|\bby and by\b/i, instead: 'sometimes, gradually' },
  { pattern: /\bfor ever\b/i, instead: 'forever' },
  { pattern: /\bin vain\b/i, instead: 'timed out, failed' },
  { pattern: /\bby way of\b/i, instead: 'through, by' },
  { pattern: /\bheld against\b/i, instead: 'compared with' },
  { pattern: /\b(?:is|are) survived\b/i, instead: 'is tolerated, does not stop the run' },
  { pattern: /\bof the future\b/i, instead: 'future' },
  {
    pattern: /(?:^|[/*#>|-]|[.:;(]|['"`])\s*What (?!.*\?)/,
    instead: 'begin with the subject: "What is left …" is "The rest …"',
  },
  {
    pattern: new RegExp(
      `\\b(?:one|a|an|\\d[\\d,]*)(?: [\\w-]+){0,3}(?<!\\b(?:${NOT_COUNTED})) an? (?:${COUNTED})\\b(?! (?:that|which|is|was|has|of|for|at)\\b)`,
      'i',
    ),
    instead: 'per',
  },
];

export interface Finding {
  line: number;
  text: string;
  word: string;
  instead: string;
}

export function findingsIn(text: string): Finding[] {
  return text.split('\n').flatMap((line, at) =>
    WORDINGS.flatMap(({ pattern, instead }) => {
      const word = pattern.exec(line)?.[0].trim();
      return word === undefined ? [] : [{ line: at + 1, text: line.trim(), word, instead }];
    }),
  );
}
