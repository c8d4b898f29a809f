/* SPDX-License-Identifier: Apache-2.0 */
/* Parses each line of stdin as a schema and prints it again, or "refused: " and why.
 * tests/against_torch/test_schemas.py feeds it every schema that PyTorch has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernrig/schema.h>

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        kr_schema *schema = NULL;
        kr_error error = { 0 };
        if (kr_schema_parse(line, strlen(line), &schema, &error) < 0) {
            printf("refused: %s\n", error.text);
            continue;
        }
        size_t size = kr_schema_print(schema, NULL, 0) + 1;
        char *text = malloc(size);
        if (text == NULL) {
            return 1;
        }
        kr_schema_print(schema, text, size);
        printf("%s\n", text);
        free(text);
        kr_schema_free(schema);
    }
    free(line);
    return ferror(stdout) ? 1 : 0;
}
