import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import { omp } from './index.ts';

testAgent(omp, join(import.meta.dirname, 'testdata'), {
  unseen: { skills: 'it has no skill tool: it uses a skill by reading its file' },
});

verifies('AG-18', 'the command line', () => {
  const request: LaunchRequest = {
    prompt: '--help "x"',
    model: 'a/b',
    approve: 'default',
    resume: 's',
    stream: false,
    args: ['--no-title'],
    command: null,
    self: { node: 'node', entry: 'x' },
  };
  expect(omp.launch(request)).toEqual({
    command: 'omp',
    args: [
      ...['-p', '--mode', 'json', '--approval-mode=always-ask', '--model', 'a/b'],
      ...['--resume', 's', '--no-title'],
    ],
    env: {},
    stdin: '--help "x"',
  });
});
