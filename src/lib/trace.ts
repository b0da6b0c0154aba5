/** The W3C trace context as tools hand it down in their environment. */
export interface TraceContext {
  traceparent: string;
  tracestate: string | null;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** `TRACEPARENT` and `TRACESTATE`; null where there is none. */
export function traceOf(env: Record<string, string | undefined>): TraceContext | null {
  const { TRACEPARENT: traceparent = '', TRACESTATE: tracestate = null } = env;
  return TRACEPARENT.test(traceparent) ? { traceparent, tracestate } : null;
}
