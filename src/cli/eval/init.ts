/** The action of `tacho eval init`: a first eval file with comments, and a workspace for it. Nothing is overwritten. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TachoError, unwritable } from '../../lib/errors.ts';
import type { Io } from '../command.ts';

const FILE = 'first.yaml';

const EVAL = `# An eval file: each test gives an agent a task and checks the run.
#   tacho eval DIR/first.yaml --agent demo      run the tests
#   tacho eval DIR/first.yaml --list            check this file without running it
# Every field: https://github.com/tacho-dev/tacho/blob/main/docs/reference/eval-files.md
description: a first eval

# Each run works in a copy of this folder. The copy is removed when the run is graded.
workspace: workspace

tests:
  - id: greets
    input: Write a script that greets people by name, and try it.
    assertions:
      # The calls that the run must make, in this order. Other calls may come between them.
      # Paths are relative to the folder of the run.
      - type: tool-trajectory
        mode: in_order
        expected:
          - { tool: Write, args: { file_path: { glob: "tacho-demo/*.sh" } } }
          - { tool: Bash, args: { command: { contains: greet } }, status: ok }

      # A file that the run must create or change.
      - { type: file, path: tacho-demo/greet.sh, changed: true, contains: Hello }

      # The final text of the agent.
      - { type: icontains, value: done }

      # Limits. A figure that the agent does not report is unknown, and the assertion fails.
      - { type: execution-metrics, max_tool_calls: 20, max_cost_usd: 0.50 }

      # A command in the folder of the run, such as the tests of the project. To use it, remove the # and
      # agree to it: tacho trust DIR
      # - { type: command, command: sh tacho-demo/greet.sh Ada, stdout: Ada }
`;

const README = `# Workspace of the first eval

Each run works in a copy of this folder. Put the files here that the agent should find.
`;

/** False: there is a file already. */
function written(path: string, text: string): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unwritable(cause, path, 'eval');
  }
}

export async function initCommand(folder: string, io: Io): Promise<number> {
  const path = join(folder, FILE);
  if (!written(path, EVAL.replaceAll('DIR', folder)))
    throw new TachoError('usage', `${path} exists already: name another folder`, { stage: 'eval' });
  written(join(folder, 'workspace', 'README.md'), README);
  await io.out.write(`wrote ${path}\nTry it: tacho eval ${path} --agent demo\n`);
  return 0;
}
