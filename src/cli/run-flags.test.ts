import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { COST_IN_TIME } from '../agents/cost-in-time.ts';
import { allAgents } from '../agents/registry.ts';
import { stopsInTime } from '../capture/budget.ts';

verifies(
  'SE-6',
  'the help and the README name the agents that --max-cost can stop in time',
  async () => {
    const agents = (await allAgents()).filter(({ launch }) => launch !== null);
    const named = agents.filter(stopsInTime).map(({ id }) => id);
    expect([...COST_IN_TIME]).toEqual(named);
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
    const [, list = ''] = /--max-cost` stops a run in time only[^:]*:([^.]*)\./.exec(readme) ?? [];
    expect([...list.matchAll(/`(\w+)`/g)].map(([, id]) => id)).toEqual(named);
  },
);
