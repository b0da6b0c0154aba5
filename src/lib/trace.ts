/** The W3C trace context from the environment. */
export interface TraceContext {
  traceparent: string;
  tracestate: string | null;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** From `TRACEPARENT` and `TRACESTATE`; null if they are not set. */
export function traceOf(env: Record<string, string | undefined>): TraceContext | null {
  const { TRACEPARENT: traceparent = '', TRACESTATE: tracestate = null } = env;
  return TRACEPARENT.test(traceparent) ? { traceparent, tracestate } : null;
}
