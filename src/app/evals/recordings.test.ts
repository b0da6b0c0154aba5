/** The skill recordings of every agent, graded: the verdict must match their truth (EV-3). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transcript as handMade } from '../../../test/build-transcript.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { grade } from '../../../test/grade.ts';
import { recordingsIn, wholeRun } from '../../../test/test-agent.ts';
import { allAgents } from '../../agents/registry.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { transcriptOf } from '../../projections/transcript.ts';

const MAIN_FILES = [
  /chats[\\/]session-[^\\/]*\.jsonl$/,
  /export-[^\\/]*\.json$/,
  /[\\/]main[\\/]wire\.jsonl$/,
  /[\\/]\d+_\w+\.messages\.json$/,
  /^(?!.*[\\/](subagents|tool-results|hooks)[\\/]).*\.jsonl?$/,
];

function sessionFile(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const main = MAIN_FILES.map((form) => names.find((name) => form.test(name))).find(
    (name) => name !== undefined,
  );
  return main === undefined ? null : join(folder, main);
}

interface Graded {
  what: string;
  scenario: string;
  agent: string;
  transcript: Transcript;
  skills: string[];
}

async function recordings(): Promise<Graded[]> {
  const graded: Graded[] = [];
  for (const agent of await allAgents()) {
    const folder = join(import.meta.dirname, '../../agents', agent.id, 'testdata');
    for (const recording of recordingsIn(folder, { sessionFile })) {
      const { scenario, channel, truth } = recording;
      if (truth === null || truth.skills_used === null) continue;
      const transcript = transcriptOf(await wholeRun(agent, recording));
      const what = `${agent.id} ${scenario} ${channel}`;
      graded.push({ what, scenario, agent: agent.id, transcript, skills: truth.skills_used });
    }
  }
  return graded;
}

const all = await recordings();
const isSkillScenario = ({ scenario }: Graded) => scenario.startsWith('skill');

const verdicts = async (transcript: Transcript, skills: readonly string[]) => {
  const found: string[] = [];
  for (const skill of skills) {
    const { verdict } = await grade({ type: 'skill-trigger', skill }, transcript);
    const not = await grade({ type: 'skill-trigger', skill, should_trigger: false }, transcript);
    expect(not.verdict).toBe(verdict === 'pass' ? 'fail' : 'pass');
    if (verdict === 'pass') found.push(skill);
  }
  return found;
};

verifies('EV-3', 'every recording gives the verdict of its truth, for every skill', async () => {
  const names = [...new Set(all.flatMap(({ skills }) => skills))].sort();
  const near = names.flatMap((name) => [`${name}-legacy`, name.slice(0, -1), `my-${name}`]);
  expect(names.length).toBeGreaterThan(3);
  for (const { what, transcript, skills } of all) {
    const used = await verdicts(transcript, [...names, ...near]);
    expect({ what, used }).toEqual({ what, used: skills.toSorted() });
  }
});

verifies(
  'EV-3',
  'the scenario in which a skill is used has one verdict for all agents',
  async () => {
    const runs = all.filter(({ scenario }) => scenario === 'skill');
    expect(new Set(runs.map(({ agent }) => agent)).size).toBeGreaterThanOrEqual(7);
    for (const { what, transcript, skills } of runs) {
      const [skill = ''] = skills;
      const result = await grade({ type: 'skill-trigger', skill }, transcript);
      expect({ what, verdict: result.verdict }).toEqual({ what, verdict: 'pass' });
      const calls = transcript.messages.flatMap((message) =>
        message.tool_calls.map(({ id }) => id),
      );
      for (const { call_id } of result.evidence) expect(calls).toContain(call_id);
    }
  },
);

test('there are recordings of skills, and every transcript is valid', () => {
  expect(all.filter(isSkillScenario).length).toBeGreaterThan(20);
  expect(all.filter(({ transcript }) => !checkTranscript(transcript))).toEqual([]);
  expect(checkTranscript(handMade())).toBe(true);
});
