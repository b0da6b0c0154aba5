/** Records and words of the CLI as data. What stands neither here nor in a decoder is an unknown record. */

/** Keys of `$set` in the session file. Only `messages` holds anything a recording shows. */
export const PATCHED: ReadonlySet<string> = new Set([
  'directories',
  'kind',
  'lastUpdated',
  'memoryScratchpad',
  'messages',
  'projectHash',
  'sessionId',
  'startTime',
  'summary',
]);

/** Message types of the session file that tell people something. */
export const NOTICES: ReadonlySet<string> = new Set(['error', 'info', 'warning']);

/** Types of failing results that mean: refused. */
export const REFUSED_TYPES: ReadonlySet<string> = new Set(['policy_violation']);

/** How a refusal begins: by a policy, a hook, or a person; the session file has no type for it. */
export const REFUSALS = [
  'Tool execution denied by policy',
  'Tool execution blocked: ',
  '[Operation Cancelled] Reason: User did not allow tool call',
];
/** … and how it ends. */
export const REFUSAL_ENDS = [
  '" was canceled by the user.',
  '" was cancelled by the user.',
  ' requires user confirmation, which is not supported in non-interactive mode.',
];

/** Classes of failures that the end record names. Others are `unknown` for what the API threw. */
export const PROVIDER_FAILURES: ReadonlySet<string> = new Set([
  'ApiError',
  'BadRequestError',
  'ForbiddenError',
  'INVALID_STREAM',
  'InvalidStreamError',
  'ModelNotFoundError',
  'RetryableQuotaError',
  'TerminalQuotaError',
  'UnauthorizedError',
  'ValidationRequiredError',
  '_ApiError',
  'unknown',
]);
export const TURN_LIMITS: ReadonlySet<string> = new Set([
  'FatalTurnLimitedError',
  'MaxSessionTurnsError',
]);
export const CANCELLATIONS: ReadonlySet<string> = new Set(['AbortError', 'FatalCancellationError']);

/** Errors that the stream tells in a record of their own, before an end record that does not repeat them. */
export const TURN_LIMIT_NOTICE = 'Maximum session turns exceeded';
/** How those begin that mean: what the API answered is no answer. */
export const INVALID_STREAM_NOTICES = [
  'Invalid stream: ',
  'The model returned ',
  'The model response was blocked due to ',
  'Model response was truncated because it exceeded the token limit',
];
