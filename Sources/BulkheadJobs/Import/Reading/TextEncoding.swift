/// The encoding that a file is written in, under a name that the system's converter knows.
struct TextEncoding: Sendable, Equatable {
    static let utf16LittleEndian = TextEncoding(converterName: "UTF-16LE", unit: 2)
    static let utf16BigEndian = TextEncoding(converterName: "UTF-16BE", unit: 2)

    let converterName: String
    /// The bytes to pass over when no character can be made of them.
    let unit: Int

    var isUTF8: Bool { converterName == "UTF-8" }

    /// Takes a name as PostgreSQL or as the rest of the world spells it.
    init?(_ name: String) {
        let name = name.uppercased()
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isPartOfName) else { return nil }
        converterName = Self.spelled(name)
        unit = Self.unit(of: converterName)
    }

    private init(converterName: String, unit: Int) {
        self.converterName = converterName
        self.unit = unit
    }

    /// The converter takes slashes as orders of how to convert.
    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-_:.".utf8.contains(byte)
        }
    }

    /// PostgreSQL's names and their aliases, where the converter has others: letters and digits only.
    private static let converters = [
        "ABC": "CP1258", "ALT": "CP866", "EUCCN": "EUC-CN", "EUCJIS2004": "EUC-JISX0213",
        "EUCJP": "EUC-JP", "EUCKR": "EUC-KR", "EUCTW": "EUC-TW", "KOI8": "KOI8-R",
        "KOI8R": "KOI8-R", "KOI8U": "KOI8-U", "SHIFTJIS2004": "SHIFT_JISX0213",
        "SQLASCII": "ASCII", "TCVN": "CP1258", "TCVN5712": "CP1258", "UHC": "CP949",
        "UNICODE": "UTF-8", "UTF8": "UTF-8", "VSCII": "CP1258", "WIN": "CP1251",
        // Without a mark at its start, UTF-16 is what most programs of today write.
        "UTF16": "UTF-16",
        // The converter's own variant turns the backslash into a yen sign.
        "MSKANJI": "CP932", "SHIFTJIS": "CP932", "SJIS": "CP932",
    ]

    private static func spelled(_ name: String) -> String {
        let letters = name.filter { $0.isLetter || $0.isNumber }
        if let converter = converters[letters] { return converter }
        for prefix in ["WINDOWS", "WIN"] where letters.hasPrefix(prefix) {
            let page = letters.dropFirst(prefix.count)
            if Int(page) != nil { return "CP" + page }
        }
        return name.hasPrefix("ISO_") ? name.replacing("_", with: "-") : name
    }

    private static func unit(of name: String) -> Int {
        if name.hasPrefix("UTF-16") || name.hasPrefix("UCS-2") {
            return 2
        }
        return name.hasPrefix("UTF-32") || name.hasPrefix("UCS-4") ? 4 : 1
    }
}
