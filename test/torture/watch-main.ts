/** `npm run torture -- --only watch`: a hundred kills of the watcher for every agent with session files (WA-15). */
import { allAgents } from '../../src/agents/registry.ts';
import { playKills } from './watch-kill.ts';

const KILLS = 100;
/** Agents at the same time. */
const LANES = 2;

export async function watchKills(seed: number): Promise<number> {
  const agents = (await allAgents()).filter(({ session }) => session?.places !== undefined);
  let found = 0;
  const lane = async () => {
    for (let agent = agents.shift(); agent !== undefined; agent = agents.shift()) {
      const began = performance.now();
      const { faults, runs } = await playKills(agent, { kills: KILLS, seed });
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(
        `${agent.id}: ${KILLS} kills, ${runs} runs, ${faults.length} faults, ${seconds} s`,
      );
      for (const fault of faults) console.log(`  ${fault}`);
      found += faults.length;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  console.log(`\ntorture found ${found === 0 ? 'no faults' : `${found} faults`}`);
  return found === 0 ? 0 : 1;
}
