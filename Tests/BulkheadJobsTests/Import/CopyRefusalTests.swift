import Postgres
import Testing

@testable import BulkheadJobs

/// The place of a bad value, from contexts as servers of several languages write them.
@Suite struct CopyRefusalTests {
    @Test(arguments: [
        "COPY bulkhead_stage_a, line 13, column bulkhead_c2: \"7\"",
        "COPY bulkhead_stage_a, Zeile 13, Spalte bulkhead_c2: »7«",
        "COPY bulkhead_stage_a, ligne 13, colonne bulkhead_c2 : « 7 »",
        "COPY bulkhead_stage_a, línea 13, columna bulkhead_c2: «7»",
        "COPY bulkhead_stage_a, строка 13, столбец bulkhead_c2: \"7\"",
        "COPY bulkhead_stage_a, 行 13, 列 bulkhead_c2: \"7\"",
        "bulkhead_stage_aのCOPY、行 13、列 bulkhead_c2: \"7\"",
        "bulkhead_stage_a 복사, 13번째 줄, bulkhead_c2 열: \"7\"",
        "COPY bulkhead_stage_a, satır 13, sütun bulkhead_c2: \"7\"",
        "COPY bulkhead_stage_a, line 13, column bulkhead_c2: null input",
        "COPY bulkhead_stage_a, line 13, column bulkhead_c2: \"bulkhead_c9, line 4\n\"",
        "PL/pgSQL function is_even(integer) line 3 at RAISE\nCOPY bulkhead_stage_a, line 13, column bulkhead_c2: \"7\"",
    ])
    func lineAndColumnAreReadInAnyLanguage(context: String) throws {
        let refusal = try #require(CopyRefusal(context, table: "bulkhead_stage_a"))
        #expect(refusal.line == 13)
        #expect(refusal.column == 2)
    }

    @Test(arguments: [
        "COPY bulkhead_stage_b, line 5: \"1\tbulkhead_c4\"",
        "COPY bulkhead_stage_b, Zeile 5: »1\tbulkhead_c4«",
        "COPY bulkhead_stage_b, line 5",
    ])
    func aWholeRowToBlameHasNoColumn(context: String) throws {
        let refusal = try #require(CopyRefusal(context, table: "bulkhead_stage_b"))
        #expect(refusal.line == 5)
        #expect(refusal.column == nil)
    }

    @Test(arguments: [
        nil, "", "COPY elsewhere, line 5", "COPY bulkhead_stage_a",
        "SQL statement \"copy bulkhead_stage_a\"",
    ])
    func anotherContextSaysNothing(context: String?) {
        #expect(CopyRefusal(context, table: "bulkhead_stage_a") == nil)
    }
}
