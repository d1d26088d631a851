/// Letters, numbers and spaces of Unicode, as regular expressions name them: \p{L}, \p{N} and \s.
#ifndef GOSS_TRAINER_DATA_UNICODE_CLASSES_H_
#define GOSS_TRAINER_DATA_UNICODE_CLASSES_H_

namespace goss::trainer {

enum class CharacterClass { letter, number, space, other };

CharacterClass classOf(char32_t character);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_UNICODE_CLASSES_H_
