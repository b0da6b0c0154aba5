import { onTestFinished } from 'vitest';

/** Other limits until the test has ended. */
export function useLimits<T extends object>(
  limits: T,
  others: Partial<Record<keyof T, number>>,
): void {
  const before = { ...limits };
  Object.assign(limits, others);
  onTestFinished(() => void Object.assign(limits, before));
}
