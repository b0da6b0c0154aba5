/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
};

export const SESSION: Readonly<Record<string, string>> = {
  trajectory: `
    schema_version session_id agent{name version model_name extra?{cwds?}} steps{step_id source
    message{type? text?} is_copied_context? metrics?{prompt_tokens completion_tokens cached_tokens?
    cost_usd?} tool_calls?{tool_call_id function_name arguments* extra?{native_name? duration_ms?}}
    observation?{results?{content source_call_id? extra?{status? exit_code?}
    subagent_trajectory_ref?{trajectory_id?}}} timestamp? reasoning_content? extra?{step?}
    model_name?} continued_trajectory_ref? trajectory_id? subagent_trajectories?{<trajectory>
    schema_version? session_id? trajectory_id? agent?{name? version? model_name?} steps?{step_id?
    timestamp? source? message? tool_calls?{tool_call_id? function_name? arguments?*
    extra?{native_name?}} observation?{results?{source_call_id? content? extra?{status?}}}}}
    final_metrics?{total_prompt_tokens? total_completion_tokens? total_cached_tokens?
    total_cost_usd? total_steps? extra?{reasoning_tokens? cache_write_tokens? duration_ms?}}
    extra?{run_id? success? exit_reason? completeness? cost_source?} notes?`,
};
