import { expect, test } from 'vitest';
import { NO_FILES } from '../../../test/grade.ts';
import { toolNames } from '../../app/evals/tool-names.ts';
import { parseEvalFile } from './eval-file.ts';

/** The mistakes of a file with these expected tools, without their places. */
async function mistakes(tools: string[], more: object = {}): Promise<string[]> {
  const expected = tools.map((tool) => ({ tool }));
  const assertions = [{ type: 'tool-trajectory', mode: 'in_order', expected }];
  const text = JSON.stringify({ ...more, tests: [{ id: 'a', assertions }] });
  return parseEvalFile('a.yaml', text, NO_FILES, { toolNames }).then(
    () => [],
    (error: Error) => error.message.split('\n').map((line) => line.replace(/^a\.yaml:1:\d+: /, '')),
  );
}

test('canonical names, MCP tools, names that agents keep and listed ones are known', async () => {
  const tools = ['Bash', 'AskUser', 'mcp__db__query', 'ToolSearch', 'checkpoint', 'deploy'];
  expect(await mistakes(tools, { tools: ['deploy'] })).toEqual([]);
});

test('any other name is a mistake with a suggestion', async () => {
  const at = (i: number) => `tests[0].assertions[0].expected[${i}].tool`;
  const hint = 'List tools of your own under tools: in this file';
  expect(await mistakes(['bash', 'run_shell_command', 'Edot', 'deploy_site'])).toEqual([
    `${at(0)}: "bash" is an agent's own name for Bash: use Bash, the name in records`,
    `${at(1)}: "run_shell_command" is an agent's own name for Bash: use Bash, the name in records`,
    `${at(2)}: unknown tool "Edot"; did you mean Edit? ${hint}`,
    expect.stringMatching(
      /^tests.*: unknown tool "deploy_site"; expected one of: Read, .*AskUser\. List/,
    ),
  ]);
  expect(await mistakes(['websearch', 'dploy'], { tools: ['deploy'] })).toEqual([
    expect.stringContaining('WebSearch'),
    expect.stringContaining('did you mean deploy?'),
  ]);
});

test('minimums are checked too, with line and column', async () => {
  const text = `tests:
  - id: a
    assertions:
      - { type: tool-trajectory, mode: any_order, minimums: { Bash: 1, reed: 2 } }
`;
  await expect(parseEvalFile('a.yaml', text, NO_FILES, { toolNames })).rejects.toThrow(
    /^a\.yaml:4:72: tests\[0\]\.assertions\[0\]\.minimums\.reed: unknown tool "reed"; did you mean Read\?/,
  );
});
