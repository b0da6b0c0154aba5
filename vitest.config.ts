import { defineConfig } from 'vitest/config';

/** `unit`: pure, in one process, without isolation. `system`: real processes, files, terminals. */
export default defineConfig({
  test: {
    globalSetup: ['test/user-state.ts', 'test/chaos-agent.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,rehearsal,test/contract,test/fixtures}/**/*.test.ts'],
          setupFiles: ['test/seed.ts'],
          pool: 'threads',
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/{e2e,crash,torture}/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: true,
          maxWorkers: 2,
        },
      },
    ],
  },
});
