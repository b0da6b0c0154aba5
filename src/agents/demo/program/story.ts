/** The story that the demo agent plays: it writes a script, which fails and is repaired. */
export interface StoryCall {
  tool: 'read_file' | 'write_file' | 'edit_file' | 'run';
  input: { path?: string; text?: string; find?: string; replace?: string; cmd?: string };
  /** Any other result ends the story: a file that could not be written must not be run. */
  expect: 'ok' | 'error';
}
export interface Turn {
  think?: string;
  say: string;
  calls: readonly StoryCall[];
}

/** In a separate folder, as the work folder may be somebody's project. */
const path = 'tacho-demo/greet.sh';
const cmd = `sh ${path} Ada Grace`;
const text = `# Greets everyone named on the command line.
set -u
for name in "$@"; do
  echo "Hello, $nam!"
done
`;

export const STORY: readonly Turn[] = [
  {
    say: "I'll write a small script that greets people by name.",
    calls: [{ tool: 'write_file', input: { path, text }, expect: 'ok' }],
  },
  { say: "Now I'll run it.", calls: [{ tool: 'run', input: { cmd }, expect: 'error' }] },
  {
    think: "The shell says that `nam` is not set. I'll look at the line that uses it.",
    say: "It failed. I'll read the script again.",
    calls: [{ tool: 'read_file', input: { path }, expect: 'ok' }],
  },
  {
    say: "The variable name is misspelt. I'll fix it and run the script again.",
    calls: [
      { tool: 'edit_file', input: { path, find: '$nam!', replace: '$name!' }, expect: 'ok' },
      { tool: 'run', input: { cmd }, expect: 'ok' },
    ],
  },
  {
    say: `Done. \`${path}\` greets people by name. The first version failed because of a misspelt variable.`,
    calls: [],
  },
];
