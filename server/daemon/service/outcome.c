// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/text.h"
#include "service/state.h"

#include <inttypes.h>
#include <kernrig/bind.h>
#include <kernrig/dtype.h>
#include <kernrig/schema.h>

static struct call_result *result_of(struct execution *e) { return &e->results[e->index]; }

/* A copy that lives as long as the result. Without memory for it, the result still has its code. */
static const char *keep(struct execution *e, const char *text)
{
    if (!text[0])
        return "";
    char *copy = kr_arena_text(e->arena, text, strlen(text));
    if (!copy)
        return "(no memory is left for this text)";
    text_make_utf8(copy);
    return copy;
}

/* Every message begins with the operator; those of a kernel name it and its provider next. */
KR_PRINTF(3, 4) static void say(struct execution *e, int code, const char *format, ...)
{
    struct call_result *result = result_of(e);
    kr_error record;
    va_list args;
    va_start(args, format);
    kr_error_setv(&record, code, format, args);
    va_end(args);
    result->code = code;
    result->message = keep(e, record.text);
}

/* What a kernel did, and what it was called with: a refusal in the kernel's own words seldom names
 * the arguments as the caller knows them, and a crash never does. */
KR_PRINTF(3, 4) static void say_of_call(struct execution *e, int code, const char *format, ...)
{
    kr_error record;
    va_list args;
    va_start(args, format);
    kr_error_setv(&record, code, format, args);
    va_end(args);
    char arguments[KR_ERROR_TEXT];
    kr_bound_print(&e->bound, arguments, sizeof arguments);
    say(e, code, "%s; called with %s", record.text, arguments);
}

static void name_kernel(struct execution *e)
{
    struct call_result *result = result_of(e);
    result->kernel_id = e->kernel.id;
    result->kernel = e->kernel.name;
    result->provider = e->provider;
}

void outcome_failed(struct execution *e, const kr_error *why)
{
    const char *name = e->requests[e->index].operator_;
    /* Binding and look-up name the operator themselves. A name that is none may be of any length.
     */
    if (strstr(why->text, name) || strlen(name) > KR_OPERATOR_NAME)
        say(e, why->code, "%s", why->text);
    else
        say(e, why->code, "%s: %s", name, why->text);
    if (e->is_started)
        name_kernel(e);
}

void outcome_timed_out(struct execution *e)
{
    const uint64_t allowed_ns = e->deadline_ns - e->begun_ns;
    const char *name = e->op->name;
    if (e->is_started) {
        name_kernel(e);
        say_of_call(e, KR_CODE_TIMEOUT,
                    "%s: kernel '%s' of provider '%s' did not end within %.3g s, and its worker "
                    "did not answer either",
                    name, e->kernel.name, e->provider, (double) allowed_ns / 1e9);
    } else {
        const struct lane *lane = e->lane;
        const bool is_next = lane->worker && !lane->running && lane->waiting == e;
        say(e, KR_CODE_TIMEOUT,
            "%s: waited %.3g s for the worker of provider '%s', and was never begun: %s", name,
            (double) allowed_ns / 1e9, e->provider,
            is_next ? "it was still starting" : "other calls of this session are before it");
    }
    result_of(e)->limit_us = allowed_ns / CLOCK_NS_PER_US;
}

static int code_of(const struct wire_died *died)
{
    switch (died->death) {
    case WIRE_DEATH_SIGNAL: return KR_CODE_CRASHED;
    case WIRE_DEATH_EXIT: return KR_CODE_EXITED;
    case WIRE_DEATH_TIMEOUT: return KR_CODE_TIMEOUT;
    case WIRE_DEATH_TAMPER: return KR_CODE_TAMPERED;
    default: return KR_CODE_WORKER;
    }
}

void outcome_died(struct execution *e, const struct wire_died *died, const char *load_failure)
{
    struct call_result *result = result_of(e);
    const char *name = e->op->name;
    const int code = code_of(died);
    name_kernel(e);
    const double allowed = (double) (e->deadline_ns - e->begun_ns) / 1e9;
    if (load_failure[0])
        say(e, KR_CODE_LOAD, "%s: provider '%s' cannot be loaded: %s", name, e->provider,
            load_failure);
    else if (!e->is_started && died->death != WIRE_DEATH_LOST)
        say(e, KR_CODE_LOAD, "%s: the worker of provider '%s' ended before it could begin: %s",
            name, e->provider, died->text);
    else if (code == KR_CODE_TIMEOUT) /* the monitor knows only what was left of it */
        say_of_call(e, code, "%s: kernel '%s' of provider '%s' did not end within %.3g s", name,
                    e->kernel.name, e->provider, allowed);
    else if (code == KR_CODE_WORKER)
        say(e, code, "%s: the worker of kernel '%s' of provider '%s' is gone: %s", name,
            e->kernel.name, e->provider, died->text);
    else
        say_of_call(e, code, "%s: kernel '%s' of provider '%s' %s", name, e->kernel.name,
                    e->provider, died->text);
    result->signal = died->death == WIRE_DEATH_SIGNAL ? died->number : 0;
    result->exit_code = died->death == WIRE_DEATH_EXIT ? died->number : 0;
    result->limit_us = result->code == KR_CODE_TIMEOUT
                           ? (e->deadline_ns - e->begun_ns) / CLOCK_NS_PER_US
                           : 0;
    result->printed = keep(e, died->printed);
}

/* Answers. */

/* The runner gives an output new, contiguous strides; what it says is not believed. */
static bool is_contiguous(const struct wire_reshaped *shape)
{
    int64_t step = 1;
    for (int d = shape->dim; d-- > 0;) {
        if (shape->strides[d] != step)
            return false;
        step *= shape->sizes[d] > 1 ? shape->sizes[d] : 1;
    }
    return true;
}

/* Whether an output may have been given this shape: it fits; or may ask for it: it does not. */
static bool shape_is_possible(const struct execution *e, const struct wire_reshaped *shape,
                              bool fits)
{
    const kr_bound_tensor *t = &e->bound.tensors[shape->tensor];
    uint64_t bytes = kr_dtype_size(t->ref.dtype), steps = 1;
    bool overflows = false;
    for (int d = 0; d < shape->dim; d++) {
        overflows |= __builtin_mul_overflow(bytes, (uint64_t) shape->sizes[d], &bytes);
        overflows |= __builtin_mul_overflow(
            steps, shape->sizes[d] > 1 ? (uint64_t) shape->sizes[d] : 1, &steps);
    }
    if (overflows || steps > INT64_MAX || !is_contiguous(shape))
        return false;
    return (bytes <= e->tensors.capacities[shape->tensor]) == fits;
}

uint32_t outcome_n_returns(const kr_schema *schema)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < schema->n_returns; i++)
        n += schema->returns_alias[i] < 0;
    return n;
}

static const char *lie_in(const struct execution *e, const struct wire_answer *answer)
{
    if (answer->status > KR_DECLINE || answer->status < KR_LEAST_KERNEL_CODE ||
        (answer->status < 0 && !kr_code_name(answer->status)))
        return "a status that no kernel has";
    const bool is_ok = answer->status == KR_OK;
    for (uint32_t i = 0; i < answer->n_reshaped; i++) {
        const uint32_t tensor = answer->reshaped[i].tensor;
        if (tensor >= e->bound.n_tensors || !e->bound.tensors[tensor].is_output ||
            e->tensors.aliased[tensor])
            return "a new shape for a tensor that cannot have one";
        /* Of those with RESIZE the first is the wish, and the others do not count. */
        if ((is_ok || i == 0) && !shape_is_possible(e, &answer->reshaped[i], is_ok))
            return is_ok ? "a new shape for which there is no room"
                         : "a wish for room that it has, or that nobody could have";
    }
    if (answer->n_returns != outcome_n_returns(e->bound.schema))
        return "more or fewer values than its schema returns";
    return NULL;
}

bool outcome_is_honest(const struct execution *e, const struct wire_answer *answer, kr_error *why)
{
    const char *lie = lie_in(e, answer);
    if (lie)
        kr_error_set(why, KR_CODE_TAMPERED,
                     "%s: kernel '%s' of provider '%s' answered with %s; its worker was ended",
                     e->op->name, e->kernel.name, e->provider, lie);
    return !lie;
}

static void keep_shapes(struct execution *e, const struct wire_answer *answer)
{
    struct call_result *result = result_of(e);
    const uint32_t n = answer->status == KR_E_RESIZE ? 1 : answer->n_reshaped;
    struct call_shape *shapes = kr_arena_array(e->arena, n, sizeof *shapes);
    if (!shapes) {
        say(e, KR_CODE_LIMIT, "%s: the reply takes too much memory", e->op->name);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct wire_reshaped *s = &answer->reshaped[i];
        const kr_bound_tensor *t = &e->bound.tensors[s->tensor];
        shapes[i] = (struct call_shape){ .argument = t->argument, .item = t->item, .dim = s->dim };
        memcpy(shapes[i].sizes, s->sizes, s->dim * sizeof *s->sizes);
        memcpy(shapes[i].strides, s->strides, s->dim * sizeof *s->strides);
    }
    result->n_shapes = n;
    result->shapes = shapes;
}

static void keep_returns(struct execution *e, const struct wire_answer *answer)
{
    struct call_result *result = result_of(e);
    kr_value *returns = kr_arena_array(e->arena, answer->n_returns, sizeof *returns);
    if (!returns) {
        say(e, KR_CODE_LIMIT, "%s: the reply takes too much memory", e->op->name);
        return;
    }
    for (uint32_t i = 0; i < answer->n_returns; i++) {
        const struct wire_return *given = &answer->returns[i];
        returns[i].tag = given->tag;
        if (given->tag == KR_TAG_INT)
            returns[i].as.integer = given->value.integer;
        else if (given->tag == KR_TAG_DOUBLE)
            returns[i].as.real = given->value.real;
        else if (given->tag == KR_TAG_BOOL)
            returns[i].as.boolean = given->value.boolean;
    }
    result->n_returns = answer->n_returns;
    result->returns = returns;
}

static bool tag_fits(uint32_t tag, kr_base_type base)
{
    switch (base) {
    case KR_TYPE_INT:
    case KR_TYPE_SYM_INT: return tag == KR_TAG_INT;
    case KR_TYPE_FLOAT:
    case KR_TYPE_SYM_FLOAT: return tag == KR_TAG_DOUBLE;
    case KR_TYPE_BOOL:
    case KR_TYPE_SYM_BOOL: return tag == KR_TAG_BOOL;
    case KR_TYPE_SCALAR: return tag == KR_TAG_INT || tag == KR_TAG_DOUBLE || tag == KR_TAG_BOOL;
    default: return false; /* nothing else can be returned but in an output */
    }
}

/* What a kernel has got wrong that its runner could not know; NULL if nothing. */
static const char *mistake_in(const struct execution *e, const struct wire_answer *answer)
{
    const kr_schema *schema = e->bound.schema;
    if (answer->status == KR_E_RESIZE && answer->n_reshaped == 0)
        return "returned KR_E_RESIZE without having asked for a shape";
    uint32_t n = 0;
    for (uint32_t i = 0; answer->status == KR_OK && i < schema->n_returns; i++) {
        const kr_type *type = &schema->returns[i].type;
        if (schema->returns_alias[i] >= 0)
            continue;
        const uint32_t tag = answer->returns[n++].tag;
        if (tag == KR_TAG_NONE && kr_type_is_optional(type))
            continue;
        if (!tag_fits(tag, type->base))
            return tag == KR_TAG_NONE ? "has not set a value that its schema returns"
                                      : "returned a value of another type than its schema says";
    }
    return NULL;
}

void outcome_answered(struct execution *e, const struct wire_answer *answer)
{
    struct call_result *result = result_of(e);
    name_kernel(e);
    result->kernel_ns = answer->kernel_ns;
    result->log = keep(e, answer->log);
    const char *mistake = mistake_in(e, answer);
    if (mistake) {
        say_of_call(e, KR_E_VALUE, "%s: kernel '%s' of provider '%s' %s", e->op->name,
                    e->kernel.name, e->provider, mistake);
        return;
    }
    if (answer->status == KR_E_RESIZE) /* seldom the end: clients that can give room do */
        say(e, KR_E_RESIZE, "%s [%s]: %s", e->op->name, e->provider, answer->text);
    else if (answer->status < 0)
        say_of_call(e, answer->status, "%s [%s]: %s", e->op->name, e->provider,
                    answer->text[0] ? answer->text : kr_code_sentence(answer->status));
    if (answer->status == KR_OK || answer->status == KR_E_RESIZE)
        keep_shapes(e, answer);
    if (answer->status == KR_OK)
        keep_returns(e, answer);
}
